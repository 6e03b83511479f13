import { ResourceTemplate, type McpServer } from '@modelcontextprotocol/server';
import { PNG } from './samples.ts';
import { type ServerState, WATCHED_URI } from './server-state.ts';

/** Registers static resources, a template with completion, and one resource that changes. */
export function registerResources(server: McpServer, serverState: ServerState): void {
  server.registerResource(
    'static-text',
    'test://static-text',
    { title: 'Static text', description: 'A text that never changes', mimeType: 'text/plain' },
    (uri) => ({
      contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }],
    }),
  );
  server.registerResource(
    'static-binary',
    'test://static-binary',
    { title: 'Static bytes', description: 'An image that never changes', mimeType: 'image/png' },
    (uri) => ({ contents: [{ uri: uri.href, mimeType: 'image/png', blob: PNG }] }),
  );
  server.registerResource(
    'watched-resource',
    WATCHED_URI,
    { title: 'Watched', description: 'A text that test_trigger_resource_update changes', mimeType: 'text/plain' },
    (uri) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: serverState.watchedContent }] }),
  );
  const template = new ResourceTemplate('test://template/{id}/data', {
    list: undefined,
    complete: { id: (value) => ['123', '124', '456'].filter((id) => id.startsWith(value)) },
  });
  server.registerResource(
    'template',
    template,
    { title: 'Template', description: 'One document for each id', mimeType: 'application/json' },
    (uri, { id }) => ({
      contents: [
        {
          uri: uri.href,
          mimeType: 'application/json',
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
        },
      ],
    }),
  );
}
