"""What schemathesis must be told about forms and deadlines."""

import re

import schemathesis

# Deadlines of less than a second: a call that misses one is answered 504, as it should be.
SHORT = re.compile(r"0+[HMS]|\d+[mun]")


@schemathesis.hook
def filter_case(context, case):
    """Leaves out forms that are meant to be wrong: a part of a form is text, so one of a wrong type is a right one."""
    meant_wrong = case.meta is not None and case.meta.generation.mode.is_negative
    form = case.media_type == "multipart/form-data"
    deadline = (case.headers or {}).get("Grpc-Timeout") or ""
    return not (meant_wrong and form) and not SHORT.fullmatch(str(deadline))
