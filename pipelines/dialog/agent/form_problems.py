"""Turns the findings of pydantic into problems with a line and a cure."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from pipelines.dialog.agent.problems import AgentError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from pipelines.dialog.agent.problems import Problem
    from pipelines.dialog.agent.yaml_file import Place, YamlFile

FormT = TypeVar("FormT", bound=BaseModel)

_CURES = {
    "string_type": "write a text; quote numbers and words such as yes and no",
    "string_pattern_mismatch": "a name has letters, digits and underscores, and begins with a letter",
    "string_too_short": "write a text, or remove the key",
    "string_too_long": "the text is too long: {ctx[max_length]} characters are the most",
    "too_short": "at least one is needed: add it",
    "too_long": "too many: {ctx[max_length]} are the most",
    "int_type": "write a whole number",
    "int_parsing": "write a whole number",
    "int_from_float": "write a whole number",
    "float_type": "write a number",
    "float_parsing": "write a number",
    "finite_number": "write a finite number",
    "bool_type": "write true or false",
    "bool_parsing": "write true or false",
    "greater_than": "write a number above {ctx[gt]:g}",
    "greater_than_equal": "write {ctx[ge]:g} at least",
    "less_than_equal": "write {ctx[le]:g} at most",
    "literal_error": "write one of {ctx[expected]}",
    "tuple_type": "write a list: a dash before each entry",
    "dict_type": "write keys with values, indented below",
    "model_type": "write keys with values, indented below",
}


def validated(form: type[FormT], file: YamlFile, content: Any, place: Place = ()) -> FormT:  # noqa: ANN401 - any YAML
    """Make a record of a file's content, or of a part of it.

    Args:
        form: class of the record.
        file: for the lines of problems.
        content: what the record is made of.
        place: where the content stands in the file.

    Raises:
        AgentError: the content is not of that form; all problems are told.
    """
    try:
        return form.model_validate(content)
    except ValidationError as error:
        problems = [_problem(form, file, found, place) for found in error.errors(include_url=False)]
        raise AgentError(list(dict.fromkeys(problems))) from error


def _problem(form: type[BaseModel], file: YamlFile, found: ErrorDetails, place: Place) -> Problem:
    inside = tuple(step for step in found["loc"] if step != "[key]")
    name = str(inside[-1]) if inside else file.path.name
    kind = found["type"]
    if kind == "missing":
        return file.problem((*place, *inside[:-1]), f"the key {name!r} is missing: add it")
    if kind == "extra_forbidden":
        return file.problem((*place, *inside), _unknown(form, inside))
    cure = _CURES.get(kind)
    message = cure.format(ctx=found.get("ctx", {})) if cure else found["msg"]
    shown = (
        f"entry {inside[-1] + 1} of {inside[-2]!r}" if len(inside) > 1 and isinstance(inside[-1], int) else repr(name)
    )
    return file.problem((*place, *inside), f"{shown}: {message}")


def _unknown(form: type[BaseModel], place: Place) -> str:
    keys = sorted(_keys(form, place[:-1]))
    near = difflib.get_close_matches(str(place[-1]), keys, 1)
    cure = f"write {near[0]!r}" if near else f"the keys here are {', '.join(keys)}"
    return f"there is no key {str(place[-1])!r} here: {cure}"


def _keys(form: type[BaseModel], place: Place) -> list[str]:
    """Return the keys of the mapping at a place of a form."""
    found: Any = form
    for step in place:
        if _is_form(found):
            fields = {field.alias or name: field.annotation for name, field in found.model_fields.items()}
            found = fields.get(str(step))
        else:
            found = _entry(found)
    while not _is_form(found):
        found = _entry(found)
        if found is None:
            return []
    return [field.alias or name for name, field in found.model_fields.items()]


def _is_form(annotation: Any) -> bool:  # noqa: ANN401 - any annotation
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _entry(annotation: Any) -> Any:  # noqa: ANN401
    """Return what a mapping or list holds; of an optional value that which it may be."""
    inner = [one for one in get_args(annotation) if one not in {Ellipsis, type(None)}]
    return inner[-1] if inner else None
