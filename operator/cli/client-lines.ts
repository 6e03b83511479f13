/** How to enter an endpoint in clients, ready to paste. `name` is what the client calls it. */
export function clientLines(name: string, url: string): { client: string; where: string; text: string }[] {
  const http = { type: 'http', url };
  return [
    { client: 'Claude Code', where: 'terminal', text: `claude mcp add --transport http ${name} ${url}` },
    { client: 'Cursor', where: '~/.cursor/mcp.json', text: JSON.stringify({ mcpServers: { [name]: http } }) },
    { client: 'VS Code', where: '.vscode/mcp.json', text: JSON.stringify({ servers: { [name]: http } }) },
    { client: 'Codex', where: '~/.codex/config.toml', text: `[mcp_servers.${name}]\nurl = "${url}"` },
    {
      client: 'Gemini CLI',
      where: '~/.gemini/settings.json',
      text: JSON.stringify({ mcpServers: { [name]: { httpUrl: url } } }),
    },
    {
      client: 'Windsurf',
      where: '~/.codeium/windsurf/mcp_config.json',
      text: JSON.stringify({ mcpServers: { [name]: { serverUrl: url } } }),
    },
  ];
}

/** The same as lines for a terminal. */
export function printClientLines(name: string, url: string): string[] {
  return clientLines(name, url).flatMap(({ client, where, text }) => [
    `  ${client} (${where}):`,
    ...text.split('\n').map((line) => `    ${line}`),
  ]);
}
