module portico.test/issuer

go 1.26

require github.com/zitadel/oidc/v3 v3.52.0
