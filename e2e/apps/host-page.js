// Runs in the browser: a host that shows apps with the SDK's bridge. The test drives it by `window.host`.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { AppBridge, getToolUiResourceUri, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';

const UI = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } };
let client;
let tools = [];

async function connect(url, revision, headers) {
  const modern = revision === '2026-07-28' && { versionNegotiation: { mode: { pin: revision } } };
  client = new Client({ name: 'host', version: '1' }, { capabilities: { extensions: UI }, ...modern });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return list();
}

async function list() {
  tools = (await client.listTools()).tools;
  return tools.map((tool) => ({ name: tool.name, uri: getToolUiResourceUri(tool) ?? null }));
}

async function read(uri) {
  const { contents } = await client.readResource({ uri });
  return contents[0].text ?? new TextDecoder().decode(Uint8Array.from(atob(contents[0].blob), (c) => c.codePointAt(0)));
}

/** Calls the tool and shows its app with the result. Hosts give apps an opaque origin. */
async function show(name) {
  const tool = tools.find((one) => one.name === name);
  const frame = document.createElement('iframe');
  Object.assign(frame, { name, sandbox: 'allow-scripts' });
  document.body.append(frame);
  const bridge = new AppBridge(
    client,
    { name: 'host', version: '1' },
    { serverTools: {} },
    { hostContext: { toolInfo: { tool } } },
  );
  const ready = new Promise((resolve) => bridge.addEventListener('initialized', resolve));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = await read(getToolUiResourceUri(tool));
  await ready;
  await bridge.sendToolInput({ arguments: {} });
  await bridge.sendToolResult(await client.callTool({ name, arguments: {} }));
}

globalThis.host = { connect, list, read, show };
