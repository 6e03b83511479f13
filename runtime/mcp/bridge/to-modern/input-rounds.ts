import type { BackendCall } from '#runtime/mcp/backends/backend';
import { missingCapability, Round, stateMember, type InputRequired } from './client-input.ts';
import { sessionIdOf, type Questions } from './questions.ts';

const MAX_ROUNDS = 10;
/** Milliseconds before a call is sent again if the backend asks for nothing but its state. */
const STATE_ONLY = 250;

interface RoundsClient {
  emit(data: string): void;
  /** `more`: the members of params that give the input to the backend, each with a comma at its end. */
  answered(more: string): void;
  refused(text: string): void;
}

/** The rounds in which a modern backend asks the client of one call for input. */
export class InputRounds {
  readonly #questions: Questions;
  readonly #call: BackendCall;
  readonly #client: RoundsClient;
  #count = 0;
  #round: Round | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(questions: Questions, call: BackendCall, client: RoundsClient) {
    this.#questions = questions;
    this.#call = call;
    this.#client = client;
  }

  get isOpen(): boolean {
    return this.#round !== undefined;
  }

  ask(input: InputRequired): void {
    this.#count += 1;
    const missing = missingCapability(input, this.#call.session);
    if (this.#count > MAX_ROUNDS) this.#client.refused(`The server still asked for input after ${MAX_ROUNDS} rounds`);
    else if (missing !== undefined) this.#client.refused(`The client did not declare what ${missing} needs`);
    else if (input.requests.length === 0)
      this.#timer = setTimeout(() => this.#client.answered(stateMember(input)), STATE_ONLY).unref();
    else this.#askClient(input);
  }

  /** Withdraws the questions of the client. */
  withdraw(): void {
    this.#round?.withdraw((data) => this.#client.emit(data));
    this.close();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#round?.close();
    this.#round = undefined;
  }

  #askClient(input: InputRequired): void {
    const asked = { questions: this.#questions, session: sessionIdOf(this.#call) };
    const emit = (data: string) => this.#client.emit(data);
    this.#round = new Round(input, asked, emit, (answers, reason) => {
      if (answers === undefined) {
        this.withdraw();
        this.#client.refused(`The client did not give the input that the server asked for: ${reason}`);
        return;
      }
      this.#round = undefined;
      this.#client.answered(`"inputResponses":${answers},${stateMember(input)}`);
    });
  }
}
