import { fromJsonSchema, type CallToolResult, type McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { PNG, SCHEMA_2020_12, SCHEMA_WITH_HEADER, WAV } from './samples.ts';

const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] });

const FIXED_RESULTS: [name: string, description: string, result: CallToolResult][] = [
  ['test_simple_text', 'Answers with text', text('This is a simple text response for testing.')],
  ['test_image_content', 'Answers with an image', { content: [{ type: 'image', data: PNG, mimeType: 'image/png' }] }],
  ['test_audio_content', 'Answers with audio', { content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] }],
  [
    'test_embedded_resource',
    'Answers with an embedded resource',
    {
      content: [
        {
          type: 'resource',
          resource: {
            uri: 'test://embedded-resource',
            mimeType: 'text/plain',
            text: 'This is an embedded resource content.',
          },
        },
      ],
    },
  ],
  [
    'test_multiple_content_types',
    'Answers with text, an image and a resource',
    {
      content: [
        { type: 'text', text: 'Multiple content types test:' },
        { type: 'image', data: PNG, mimeType: 'image/png' },
        {
          type: 'resource',
          resource: {
            uri: 'test://mixed-content-resource',
            mimeType: 'application/json',
            text: '{"test":"data","value":123}',
          },
        },
      ],
    },
  ],
];

/** Registers tools whose answer depends only on their arguments. */
export function registerContentTools(server: McpServer): void {
  for (const [name, description, result] of FIXED_RESULTS) server.registerTool(name, { description }, () => result);

  server.registerTool('test_error_handling', { description: 'Fails' }, () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  server.registerTool(
    'json_schema_2020_12_tool',
    { description: 'Tool with JSON Schema 2020-12 features', inputSchema: fromJsonSchema(SCHEMA_2020_12) },
    (args) => text(`JSON Schema 2020-12 tool called with: ${JSON.stringify(args)}`),
  );
  server.registerTool(
    'test_x_mcp_header',
    {
      description: 'Takes an argument that travels in a header as well',
      inputSchema: fromJsonSchema<{ region: string }>(SCHEMA_WITH_HEADER),
    },
    ({ region }) => text(`region ${region}`),
  );
  server.registerTool(
    'test_structured_content',
    {
      description: 'Answers with structured content',
      inputSchema: z.object({ celsius: z.number() }),
      outputSchema: z.object({ fahrenheit: z.number() }),
      annotations: { title: 'Convert', readOnlyHint: true, idempotentHint: true },
    },
    ({ celsius }) => {
      const structuredContent = { fahrenheit: celsius * 1.8 + 32 };
      return { ...text(JSON.stringify(structuredContent)), structuredContent };
    },
  );
}
