"""What schemathesis must be told about forms."""

import schemathesis


@schemathesis.hook
def filter_case(context, case):
    """Leaves out forms that are meant to be wrong: a part of a form is text, so one of a wrong type is a right one."""
    meant_wrong = case.meta is not None and case.meta.generation.mode.is_negative
    return not (meant_wrong and case.media_type == "multipart/form-data")
