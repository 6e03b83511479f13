/** Literal text, or a value of one or more characters other than these. */
type Piece = { readonly text: string } | { readonly valueWithout: string };
/** Pieces in order, or query parameters that may each be missing. */
type Part = { readonly pieces: readonly Piece[] } | { readonly names: readonly string[]; readonly first: '?' | '&' };

const MAX_VARIABLES = 32;
const MAX_LENGTH = 2_048;
/** Characters that a path segment, a list of segments and a query parameter exclude. */
const [SEGMENT, LIST, QUERY_VALUE] = ['/,', '/', '&#'];

/** RFC 6570 §3.2: text before the first value, separator, and characters that values exclude. */
const OPERATORS: Record<string, { before: string; between: string; without: string }> = {
  '': { before: '', between: ',', without: SEGMENT },
  '+': { before: '', between: ',', without: '' },
  '#': { before: '#', between: ',', without: '' },
  '.': { before: '.', between: '.', without: SEGMENT },
  '/': { before: '/', between: '/', without: SEGMENT },
  ';': { before: ';', between: ';', without: LIST },
};

export interface Match {
  readonly matches: boolean;
  readonly steps: number;
}

/** RFC 6570. Tracks all combinations of values at once, so time is bounded by the lengths' product. Invalid templates match nothing. */
export function matchTemplate(template: string, uri: string): Match {
  const prefix = template.slice(0, Math.max(template.indexOf('{'), 0));
  if (!uri.startsWith(prefix) || uri.length > MAX_LENGTH || template.length > MAX_LENGTH)
    return { matches: false, steps: 1 };
  const parts = readParts(template);
  return parts ? new TemplateMatcher(uri).follow(parts) : { matches: false, steps: template.length };
}

function readParts(template: string): readonly Part[] | undefined {
  const [start = '', ...chunks] = template.split('{');
  const parts: Part[] = [{ pieces: [{ text: start }] }];
  let variables = 0;
  for (const chunk of chunks) {
    const [written = '', text, ...more] = chunk.split('}');
    const expression = text === undefined || more.length > 0 ? undefined : readExpression(written);
    if (!expression) return undefined;
    variables += variablesOf(expression);
    if (variables > MAX_VARIABLES) return undefined;
    parts.push(expression, { pieces: [{ text: text ?? '' }] });
  }
  return start.includes('}') ? undefined : parts;
}

const variablesOf = (part: Part): number => ('names' in part ? part.names.length : part.pieces.length / 2);

function readExpression(expression: string): Part | undefined {
  const operator = /^[+#./;?&]?/u.exec(expression)?.[0] ?? '';
  const names = expression.slice(operator.length).split(',');
  if (names.length > MAX_VARIABLES || !names.every((name) => /^[\w.%]+(?:\*|:\d{1,4})?$/u.test(name))) return undefined;
  if (operator === '?' || operator === '&') {
    return { names: names.map((name) => name.replace(/[*:].*$/u, '')), first: operator };
  }
  const { before, between, without } = OPERATORS[operator] ?? { before: '', between: ',', without: SEGMENT };
  return {
    pieces: names.flatMap((name, at) => [
      { text: at === 0 ? before : between },
      { valueWithout: name.endsWith('*') && without === SEGMENT ? LIST : without },
    ]),
  };
}

/** 1 for each position of the URI that the previous parts can reach. */
type Reached = Uint8Array;

class TemplateMatcher {
  readonly #uri: string;
  #steps = 0;

  constructor(uri: string) {
    this.#uri = uri;
  }

  follow(parts: readonly Part[]): Match {
    let reached: Reached = this.#none();
    reached[0] = 1;
    for (const part of parts) {
      if ('names' in part) reached = this.#afterQuery(reached, part.names, part.first);
      else for (const piece of part.pieces) reached = this.#after(reached, piece);
      if (!reached.includes(1)) return { matches: false, steps: this.#steps };
    }
    return { matches: reached[this.#uri.length] === 1, steps: this.#steps };
  }

  #none(): Reached {
    return new Uint8Array(this.#uri.length + 1);
  }

  #after(from: Reached, piece: Piece): Reached {
    this.#steps += from.length;
    return 'text' in piece ? this.#afterText(from, piece.text) : this.#afterValue(from, piece.valueWithout);
  }

  #afterText(from: Reached, text: string): Reached {
    if (text === '') return from;
    const to = this.#none();
    for (let at = from.indexOf(1); at !== -1; at = from.indexOf(1, at + 1)) {
      this.#steps += text.length;
      if (this.#uri.startsWith(text, at)) to[at + text.length] = 1;
    }
    return to;
  }

  #afterValue(from: Reached, without: string): Reached {
    const to = this.#none();
    let isWithin = false;
    for (let at = 0; at < this.#uri.length; at++) {
      isWithin = (isWithin || from[at] === 1) && !without.includes(this.#uri.charAt(at));
      if (isWithin) to[at + 1] = 1;
    }
    return to;
  }

  /** Parameters may be missing. The first one follows the operator, the others an ampersand. */
  #afterQuery(from: Reached, names: readonly string[], first: '?' | '&'): Reached {
    let some = this.#none();
    for (const name of names) {
      const named = this.#either(
        this.#after(from, { text: `${first}${name}=` }),
        this.#after(some, { text: `&${name}=` }),
      );
      some = this.#either(some, this.#either(named, this.#after(named, { valueWithout: QUERY_VALUE })));
    }
    return this.#either(from, some);
  }

  #either(left: Reached, right: Reached): Reached {
    this.#steps += left.length;
    const either = this.#none();
    for (let at = 0; at < left.length; at++) if (left[at] === 1 || right[at] === 1) either[at] = 1;
    return either;
  }
}
