# Who may call what: any logged-in caller may create, list and watch tickets, and only agents may close them.
set -e
portico auth create rule tickets --access=granted --scope='*' --resource='service:tickets:*'
portico auth create rule noclose --access=denied --scope='*' --resource='service:tickets:Tickets.Close' --priority=10
portico auth create rule agents --access=granted --scope=agents --resource='service:tickets:Tickets.Close' --priority=20
portico auth delete rule default
