"""A client made with the official Python SDK: python-client.py URL PREFIX. It prints its results as one line of JSON."""

import json
import sys

import anyio
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CancelledNotification, CancelledNotificationParams, ClientNotification, ElicitResult


async def answer(_context, _params) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "Ada"})


class Caller:
    def __init__(self, session: ClientSession, prefix: str) -> None:
        self.session = session
        self.prefix = prefix
        self.patient_id = -1

    async def call(self, name: str, **arguments) -> str:
        result = await self.session.call_tool(self.prefix + name, arguments)
        return result.content[0].text

    async def wait_patiently(self) -> None:
        # The SDK has no public access to the id of a request.
        self.patient_id = self.session._request_id
        await self.call("patient", ms=600_000)

    async def until_counted(self, what: str) -> None:
        while json.loads(await self.call("count")).get("patient", {}).get(what) != 1:
            await anyio.sleep(0.05)

    async def cancel_patient(self) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self.wait_patiently)
            await self.until_counted("begun")
            params = CancelledNotificationParams(requestId=self.patient_id)
            notification = CancelledNotification(method="notifications/cancelled", params=params)
            await self.session.send_notification(ClientNotification(notification))
            await self.until_counted("aborted")
            group.cancel_scope.cancel()


async def main(url: str, prefix: str) -> None:
    async with streamable_http_client(url) as (read, write, _), ClientSession(
        read, write, elicitation_callback=answer
    ) as session:
        await session.initialize()
        caller = Caller(session, prefix)
        seen = {
            "tools": [tool.name for tool in (await session.list_tools()).tools],
            "echoed": await caller.call("echo", text="first"),
            "elicited": await caller.call("elicit"),
        }
        await caller.cancel_patient()
        seen["afterwards"] = await caller.call("echo", text="second")
        print(json.dumps(seen))


anyio.run(main, *sys.argv[1:])
