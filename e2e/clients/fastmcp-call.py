"""Calls one tool with fastmcp's own OAuth client: fastmcp-call.py URL TOOL FOLDER."""

import asyncio
import json
import sys
from pathlib import Path

from fastmcp import Client
from fastmcp.client.auth import OAuth
from key_value.aio.stores.filetree import FileTreeStore, FileTreeV1KeySanitizationStrategy


async def main(url: str, tool: str, folder: str) -> None:
    # Keys are URLs.
    names = FileTreeV1KeySanitizationStrategy(Path(folder))
    store = FileTreeStore(data_directory=folder, key_sanitization_strategy=names)
    auth = OAuth(token_storage=store)
    async with Client(url, auth=auth) as client:
        result = await client.call_tool(tool, {})
        print(json.dumps(result.structured_content))


asyncio.run(main(*sys.argv[1:]))
