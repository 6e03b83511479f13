"""An MCP server made with the official Python SDK, with the tools of tools.ts."""

import argparse
import json
import os
import socket
from collections import defaultdict
from contextlib import contextmanager
from typing import Literal

import anyio
import uvicorn
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from mcp.shared.message import ServerMessageMetadata
from mcp.types import (
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    ServerRequest,
    TextContent,
)
from pydantic import BaseModel

Stream = Literal["call", "session"]

parser = argparse.ArgumentParser()
parser.add_argument("--transport", choices=["http", "sse", "stdio"], default="http")
parser.add_argument("--port", type=int, default=0)
parser.add_argument("--json", action="store_true")
options = parser.parse_args()

server = FastMCP("sdk-python", json_response=options.json, log_level="WARNING", sse_path="/mcp")
counts: dict[str, dict[str, int]] = defaultdict(lambda: {"begun": 0, "ended": 0, "aborted": 0})


class Name(BaseModel):
    name: str


@contextmanager
def counted(tool: str):
    counts[tool]["begun"] += 1
    try:
        yield
    except anyio.get_cancelled_exc_class():
        counts[tool]["aborted"] += 1
        raise
    finally:
        counts[tool]["ended"] += 1


def related(ctx: Context, stream: Stream) -> str | None:
    """Returns the id that puts a message on the stream of the call; None puts it on the GET stream."""
    return ctx.request_id if stream == "call" else None


@server.tool(structured_output=False)
async def echo(text: str) -> str:
    """Returns its text"""
    with counted("echo"):
        return text


@server.tool(structured_output=False)
async def slow(ms: int) -> str:
    """Says nothing until it ends, and ignores a cancel"""
    with counted("slow"), anyio.CancelScope(shield=True):
        await anyio.sleep(ms / 1000)
        return f"slept {ms} ms"


@server.tool(structured_output=False)
async def patient(ms: int) -> str:
    """Says nothing until it ends, and stops on a cancel"""
    with counted("patient"):
        await anyio.sleep(ms / 1000)
        return f"slept {ms} ms"


@server.tool(structured_output=False)
async def progress(steps: int, every: int, ctx: Context) -> str:
    """Reports progress"""
    with counted("progress"):
        for step in range(1, steps + 1):
            await anyio.sleep(every / 1000)
            await ctx.report_progress(step, steps)
        return f"reported {steps} steps"


@server.tool(structured_output=False)
async def log(lines: int, every: int, ctx: Context, stream: Stream = "call") -> str:
    """Sends logging notifications"""
    with counted("log"):
        for line in range(1, lines + 1):
            await ctx.session.send_log_message("info", f"line {line}", related_request_id=related(ctx, stream))
            await anyio.sleep(every / 1000)
        return f"logged {lines} lines"


@server.tool(structured_output=False)
async def big(bytes: int) -> str:
    """Returns a text of this size"""
    with counted("big"):
        return "x" * bytes


@server.tool(structured_output=False)
async def count() -> str:
    """Returns how often each tool began, ended and was aborted"""
    with counted("count"):
        return json.dumps(counts)


@server.tool(structured_output=False)
async def fail() -> str:
    """Returns an error result"""
    with counted("fail"):
        raise ToolError("this tool always fails")


@server.tool(structured_output=False)
async def die() -> str:
    """Ends the process of the server"""
    os._exit(1)


@server.tool(structured_output=False)
async def elicit(ctx: Context, stream: Stream = "call") -> str:
    """Asks the client: elicit"""
    with counted("elicit"):
        schema = Name.model_json_schema()
        answer = await ctx.session.elicit_form("What is your name?", schema, related(ctx, stream))
        return answer.model_dump_json()


@server.tool(structured_output=False)
async def sample(ctx: Context, stream: Stream = "call") -> str:
    """Asks the client: sample"""
    with counted("sample"):
        message = SamplingMessage(role="user", content=TextContent(type="text", text="Say a word."))
        answer = await ctx.session.create_message([message], max_tokens=100, related_request_id=related(ctx, stream))
        return answer.model_dump_json()


@server.tool(structured_output=False)
async def roots(ctx: Context, stream: Stream = "call") -> str:
    """Asks the client: roots"""
    with counted("roots"):
        request = ServerRequest(ListRootsRequest())
        metadata = ServerMessageMetadata(related_request_id=related(ctx, stream))
        answer = await ctx.session.send_request(request, ListRootsResult, metadata=metadata)
        return answer.model_dump_json()


@server.prompt()
def greet(name: str) -> str:
    """Greets"""
    return f"Hello {name}"


@server.resource("sdk://one")
def one() -> str:
    return "resource one"


@server.resource("sdk://two")
def two() -> str:
    return "resource two"


@server.resource("sdk://items/{id}")
def item(id: str) -> str:
    return f"item {id}"


if options.transport == "stdio":
    server.run("stdio")
else:
    app = server.streamable_http_app() if options.transport == "http" else server.sse_app()
    listener = socket.create_server(("127.0.0.1", options.port))
    port = listener.getsockname()[1]
    print(json.dumps({"url": f"http://127.0.0.1:{port}/mcp", "port": port}), flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
