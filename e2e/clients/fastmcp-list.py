"""Prints the names of the tools that fastmcp lists at an endpoint, as JSON: fastmcp-list.py URL."""

import asyncio
import json
import sys

from fastmcp import Client


async def main(url: str) -> None:
    async with Client(url) as client:
        print(json.dumps([tool.name for tool in await client.list_tools()]))


asyncio.run(main(*sys.argv[1:]))
