"""Calls each tool `echo` that fastmcp lists at an endpoint. Prints the answers by name, as JSON: fastmcp-echo.py URL."""

import asyncio
import json
import sys

from fastmcp import Client


async def main(url: str) -> None:
    async with Client(url) as client:
        names = [tool.name for tool in await client.list_tools() if tool.name.endswith("_echo")]
        results = {name: await client.call_tool(name, {"text": name}) for name in names}
        print(json.dumps({name: result.content[0].text for name, result in results.items()}))


asyncio.run(main(*sys.argv[1:]))
