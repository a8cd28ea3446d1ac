"""Tasks: one turn of a model, tried again where that may help, within its time."""

import asyncio

import pytest

from agio.core.config import AgentRunConfig
from agio.core.link.link import Task, TaskResult
from agio.core.model import Usage
from agio.drivers.scripted import ScriptedDriver, ScriptedTurn
from agio.errors import LimitExceeded, ModelError, UserError
from agio.worker.service import WorkerService
from agio.worker.task import perform_task
from tests.unit.worker.ledger import Ledger, worker

TASK = Task(provider="scripted", model="one", instructions="Sum it up.", prompt="A long story.")


async def test_a_task_is_one_turn_without_tools() -> None:
    """R5: short model jobs of the gateway go to the worker, which alone calls models."""
    service, driver = await worker(Ledger(), ScriptedTurn("A story.", reasoning="hm", usage=Usage(7, 2)))
    assert await service.perform(TASK) == TaskResult("A story.", Usage(7, 2))
    assert driver.requests[0].system == "Sum it up."
    assert list(driver.requests[0].tools) == []


async def test_a_task_is_tried_again_when_that_may_help() -> None:
    """C6: a busy model is asked again."""
    busy = ModelError("rate_limited", "Wait.", retryable=True, retry_after_s=0.01)
    service, driver = await worker(Ledger(), ScriptedTurn(fails=busy), ScriptedTurn("Now."))
    assert (await service.perform(TASK)).text == "Now."
    assert len(driver.requests) == 2


async def test_a_task_ends_at_the_size_of_a_turn() -> None:
    """L6: `turn_too_large`, as in a run."""
    config = AgentRunConfig(max_turn_bytes=1024)
    with pytest.raises(LimitExceeded) as refused:
        await perform_task(ScriptedDriver([ScriptedTurn(reasoning="word " * 1000)]), TASK, config)
    assert refused.value.code == "turn_too_large"


async def test_a_task_that_cannot_be_done_says_why() -> None:
    """L13: the gateway hears why a task failed."""
    service, _ = await worker(Ledger(), ScriptedTurn(fails=ModelError("bad_request", "No.")))
    with pytest.raises(ModelError) as refused:
        await service.perform(TASK)
    assert refused.value.code == "bad_request"

    slow, _ = await worker(Ledger(), ScriptedTurn(waits=asyncio.Event()))
    with pytest.raises(ModelError) as late:
        await slow.perform(Task(provider="x", model="y", instructions="", prompt="", timeout_s=0.02))
    assert late.value.code == "turn_timeout"

    real = WorkerService("wrk_2", room=1, endpoints={})
    with pytest.raises(UserError) as unknown:
        await real.perform(Task(provider="openai", model="y", instructions="", prompt=""))
    assert unknown.value.code == "missing_provider_key"
