"""Arithmetic for models, which are bad at it."""

import ast
from collections.abc import Callable

from agio.core.tool import tool

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float | complex]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Pow: lambda a, b: a**b,
}
_LIMIT = 10**100
_EXACT = 2**53
"""Up to this limit a float represents whole numbers exactly."""


@tool(effect="read")
def calculator(expression: str) -> str:
    """Work out an arithmetic expression.

    Args:
        expression: Numbers, + - * / // % ** and parentheses, for example `(2 + 3) * 4`.
    """
    if len(expression) > 500:
        raise ValueError("the expression is longer than 500 characters")
    try:
        tree = ast.parse(expression.replace("^", "**").strip(), mode="eval")
        value = _value(tree.body)
    except (SyntaxError, UnicodeError):
        raise ValueError(f"{expression!r} is not an arithmetic expression") from None
    except (RecursionError, MemoryError):
        raise ValueError("the expression is nested too deeply") from None
    whole = isinstance(value, int) or (value.is_integer() and abs(value) < _EXACT)
    return str(int(value)) if whole else f"{value:.12g}"


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return _reasonable(number)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            first, second = _value(left), _value(right)
            if isinstance(op, ast.Pow) and abs(second) > 1000:
                raise ValueError("the exponent is too large")
            try:
                result = _OPERATORS[type(op)](first, second)
            except OverflowError:
                raise ValueError("the result is too large") from None
            except ZeroDivisionError:
                raise ValueError("division by zero") from None
            return _reasonable(result)
        case _:
            raise ValueError("only numbers, + - * / // % ** and parentheses are allowed")


def _reasonable(number: float | complex) -> float:
    if isinstance(number, complex) or not abs(number) <= _LIMIT:
        raise ValueError("the result is not a real number of a reasonable size")
    return number
