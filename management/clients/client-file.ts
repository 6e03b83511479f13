import type { Home, McpClient } from '#management/clients/files/clients';
import { UnreadableConfig } from '#management/clients/files/config-editor';
import { dropEntry, entryIn, putEntry } from '#management/clients/files/edit-config';
import { changeFile, ForeignFile, readClientFile, type Written } from '#management/clients/files/write-config';
import { Problem } from '../problem.ts';
import { problemOfFile } from '../stores/problem-of-file.ts';

/** Maps the name of an entry to its URL. */
export type Entries = ReadonlyMap<string, string>;

interface Change {
  /** Entries that vmcp wrote. An entry that differs by now belongs to another program. */
  former: Entries;
  wanted: Entries;
  /** Overwrites entries of other programs. */
  force: boolean;
}

/** Configuration file of a client on this machine. */
export class ClientFile {
  readonly path: string;
  readonly #client: McpClient;

  constructor(client: McpClient, home: Home) {
    this.#client = client;
    this.path = client.file(home);
  }

  /** @throws Problem `conflict` */
  check(change: Change): void {
    this.#attempt(() => this.#edit(readClientFile(this.path) ?? '', change));
  }

  /** Writes the wanted entries and removes former ones that are no longer wanted. @throws Problem `conflict`: nothing was written */
  apply(change: Change): Written {
    return this.#attempt(() => {
      const isEmpty = change.wanted.size === 0 && readClientFile(this.path) === undefined;
      if (isEmpty) return { file: this.path, changed: false };
      return changeFile(this.path, (text, backup) => this.#asBefore(text, backup, change) ?? this.#edit(text, change));
    });
  }

  /** Returns the backup if the file is the backup plus entries of vmcp. It also restores details, such as an empty table. */
  #asBefore(text: string, backup: string | undefined, { former, wanted }: Change): string | undefined {
    if (backup === undefined || wanted.size > 0) return undefined;
    try {
      if ([...former.keys()].some((name) => this.#urlIn(backup, name) !== undefined)) return undefined;
      return this.#edit(backup, { former: new Map(), wanted: former, force: false }) === text ? backup : undefined;
    } catch (problem) {
      if (problem instanceof UnreadableConfig) return undefined;
      throw problem;
    }
  }

  #edit(text: string, { former, wanted, force }: Change): string {
    const { format, table, entry } = this.#client;
    let edited = text;
    for (const [name, url] of wanted) {
      const known = this.#urlIn(text, name);
      if (known === url) continue;
      if (known !== undefined && known !== former.get(name) && !force) throw this.#foreign(name, known);
      edited = putEntry(edited, format, table, name, entry(name, url));
    }
    for (const [name, url] of former)
      if (!wanted.has(name) && this.#urlIn(text, name) === url) edited = dropEntry(edited, format, table, name);
    return edited;
  }

  /** Returns the URL of an entry; `another kind of server` for an entry without URL; undefined if there is none. */
  #urlIn(text: string, name: string): string | undefined {
    const { format, table, url } = this.#client;
    const entry = entryIn(text, format, table, name);
    if (entry === undefined) return undefined;
    const known = entry[url];
    return typeof known === 'string' ? known : 'another kind of server';
  }

  #foreign(name: string, known: string): Problem {
    const remedy = 'remove that entry, rename the VirtualMCPServer, or say force=true';
    return new Problem(
      'conflict',
      `${this.path} has an entry "${name}" already that is not of vmcp (${known}): ${remedy}`,
    );
  }

  #attempt<T>(work: () => T): T {
    try {
      return work();
    } catch (problem) {
      if (problem instanceof UnreadableConfig)
        throw new Problem(
          'conflict',
          `${this.path} cannot be read: ${problem.message}; nothing was written. Mend it first`,
        );
      if (problem instanceof ForeignFile) throw new Problem('conflict', `${problem.message}; nothing was written`);
      throw problemOfFile(problem);
    }
  }
}

/** Renders entries as text to paste; empty for no entries. */
export function printEntries({ format, table, entry }: McpClient, entries: Entries): string {
  return [...entries].reduce((text, [name, url]) => putEntry(text, format, table, name, entry(name, url)), '').trim();
}
