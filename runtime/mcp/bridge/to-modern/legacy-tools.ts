import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { headerArguments, headersOf, type HeaderArgument } from '../tool-headers.ts';
import { asObject, wrappedSchema } from './legacy-output-schema.ts';

/** The facts of a tool's schemas that a call needs. */
interface KnownTool {
  readonly headers: readonly HeaderArgument[];
  /** Whether its output schema was wrapped into an object for legacy clients. */
  readonly isWrapped: boolean;
}

const MAX_TOOLS = 10_000;

/** The tools of one backend, as its lists describe them. */
export class LegacyTools {
  readonly #known = new Map<string, KnownTool>();

  has(name: string): boolean {
    return this.#known.has(name);
  }

  forget(name: string): void {
    this.#known.delete(name);
  }

  /** A tool that no list has is called without headers. */
  assume(name: string): void {
    if (!this.has(name)) this.#note(name, { headers: [], isWrapped: false });
  }

  isWrapped(name: unknown): boolean {
    return typeof name === 'string' && this.#known.get(name)?.isWrapped === true;
  }

  /** Returns a flat list of Mcp-Param headers for the arguments of a call. */
  headersFor(name: string, given: () => unknown): string[] {
    const { headers = [] } = this.#known.get(name) ?? {};
    return headers.length === 0 ? [] : headersOf(headers, given());
  }

  /**
   * Learns the tools of a page. Returns it as legacy clients read it, or undefined if it needs no change. `haveTasks`:
   * each call may become a task.
   */
  learn(result: JsonObject, haveTasks: boolean): JsonObject | undefined {
    if (!Array.isArray(result.tools)) return undefined;
    const tools = result.tools.map((tool: unknown) => {
      if (!isJsonObject(tool) || typeof tool.name !== 'string') return tool;
      const isWrapped = tool.outputSchema !== undefined && !isObjectSchema(tool.outputSchema);
      this.#note(tool.name, { headers: headerArguments(tool.inputSchema), isWrapped });
      return legacyTool(tool, haveTasks);
    });
    const listed: readonly unknown[] = result.tools;
    return tools.some((tool, index) => tool !== listed[index]) ? { ...result, tools } : undefined;
  }

  #note(name: string, tool: KnownTool): void {
    if (this.#known.size < MAX_TOOLS || this.#known.has(name)) this.#known.set(name, tool);
  }
}

const isObjectSchema = (schema: unknown): boolean => isJsonObject(schema) && schema.type === 'object';

/**
 * Revisions up to 2025-11-25 have only object schemas, and objects as the schemas of properties. SDK clients of the 1.x line reject the
 * whole list of tools for one other schema.
 */
function legacyTool(tool: JsonObject, hasTasks: boolean): JsonObject {
  const { inputSchema, outputSchema } = tool;
  const changes: JsonObject = hasTasks ? { execution: { taskSupport: 'optional' } } : {};
  const input = withObjectProperties(inputSchema);
  if (input !== inputSchema) changes.inputSchema = input;
  if (outputSchema !== undefined) {
    const output = isObjectSchema(outputSchema) ? withObjectProperties(outputSchema) : wrappedSchema(outputSchema);
    if (output !== outputSchema) changes.outputSchema = output;
  }
  return Object.keys(changes).length > 0 ? { ...tool, ...changes } : tool;
}

function withObjectProperties(schema: unknown): unknown {
  if (!isJsonObject(schema) || !isJsonObject(schema.properties)) return schema;
  const properties = Object.entries(schema.properties);
  if (!properties.some(([, child]) => typeof child === 'boolean')) return schema;
  return { ...schema, properties: Object.fromEntries(properties.map(([key, child]) => [key, asObject(child)])) };
}
