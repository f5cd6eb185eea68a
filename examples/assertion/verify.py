"""Verifies a caller assertion: the metadata `x-portico-context` of a call that Portico makes.

Copy this file. It needs only the standard library. See docs/real-services.md, "Caller assertion".
"""

import base64
import hashlib
import hmac
import time


def verify(assertion, key, resource, now=None):
    """The caller of a call to `resource`, such as `service:shop:Orders.Get`.

    `key` is the service's key: the bytes of the base64 text that `portico services add` printed.
    Returns a dictionary with `account` and `scopes`, both empty for a call without a valid token,
    and `namespace`. Raises ValueError for an assertion that is not valid for this call.
    """
    signed, _, mac = assertion.rpartition(".")
    expected = base64.urlsafe_b64encode(hmac.digest(key, signed.encode(), hashlib.sha256)[:16]).rstrip(b"=")
    if not hmac.compare_digest(mac.encode(), expected):
        raise ValueError("the assertion was not signed for this service")
    payload = signed.split(".")[0]
    context = _fields(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    if context.get(1, [b""])[-1].decode() != resource:
        raise ValueError("the assertion is for another endpoint")
    if context.get(6, [0])[-1] <= (time.time() if now is None else now) * 1000:
        raise ValueError("the assertion has expired")
    caller = _fields(context.get(3, [b""])[-1])
    account, scopes = caller.get(2, [b""])[-1].decode(), [scope.decode() for scope in caller.get(3, [])]
    return {"account": account, "scopes": scopes, "namespace": context.get(2, [b""])[-1].decode()}


def _fields(message):
    """The values of a protobuf message by field number: integers and bytes."""
    fields, at = {}, 0
    while at < len(message):
        tag, at = _varint(message, at)
        value, at = _varint(message, at)
        if tag & 7 == 2:
            value, at = message[at : at + value], at + value
        elif tag & 7 != 0:
            raise ValueError("the assertion has a field of an unknown kind")
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def _varint(message, at):
    value = shift = 0
    while message[at] & 128:
        value, shift, at = value | (message[at] & 127) << shift, shift + 7, at + 1
    return value | message[at] << shift, at + 1
