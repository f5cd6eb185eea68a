"""Exceptions for schemathesis, about forms and deadlines."""

import re

import schemathesis

# Deadlines of less than a second. A call that misses its deadline gets 504, which is correct.
SHORT = re.compile(r"0+[HMS]|\d+[mun]")


@schemathesis.hook
def filter_case(context, case):
    """Leaves out forms that are meant to be wrong. A part of a form is text, so a part of a wrong type is valid."""
    meant_wrong = case.meta is not None and case.meta.generation.mode.is_negative
    form = case.media_type == "multipart/form-data"
    deadline = (case.headers or {}).get("Grpc-Timeout") or ""
    return not (meant_wrong and form) and not SHORT.fullmatch(str(deadline))
