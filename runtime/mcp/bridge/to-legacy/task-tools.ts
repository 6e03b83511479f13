import { isJsonObject, type JsonObject } from '#runtime/mcp/envelope/decode-request';
import { resultOf } from '../members-of.ts';

const MAX_TOOLS = 10_000;
const MAX_PAGES = 100;

/** Asks for one page of the tools of the backend. Undefined: it gave no answer. */
type AskPage = (paramsText: string) => Promise<{ readonly result: JsonObject | undefined } | undefined>;

/** The tools of one legacy backend whose calls may become tasks, as its lists say. */
export class TaskTools {
  /** Name to whether it takes tasks. */
  readonly #known = new Map<string, boolean>();

  takesTasks(name: string): boolean | undefined {
    return this.#known.get(name);
  }

  /** `body`: answer of the backend to tools/list. */
  learn(body: Buffer): void {
    this.#learn(resultOf(body.toString('utf8')));
  }

  /** Lists the tools until one of this name is known. */
  async find(name: string, ask: AskPage): Promise<boolean> {
    let cursor: unknown;
    for (let page = 0; page < MAX_PAGES && !this.#known.has(name); page += 1) {
      const answer = await ask(typeof cursor === 'string' ? JSON.stringify({ cursor }) : '{}');
      this.#learn(answer?.result ?? {});
      cursor = answer?.result?.nextCursor;
      if (typeof cursor !== 'string') break;
    }
    if (!this.#known.has(name)) this.#note(name, false);
    return this.takesTasks(name) === true;
  }

  #learn({ tools }: JsonObject): void {
    for (const tool of Array.isArray(tools) ? tools : []) {
      if (!isJsonObject(tool) || typeof tool.name !== 'string') continue;
      const support = isJsonObject(tool.execution) ? tool.execution.taskSupport : undefined;
      this.#note(tool.name, support === 'optional' || support === 'required');
    }
  }

  #note(name: string, takesTasks: boolean): void {
    if (this.#known.size < MAX_TOOLS || this.#known.has(name)) this.#known.set(name, takesTasks);
  }
}
