import { answerJson } from '#runtime/http/answer-json';
import type { ListKind } from '../aggregate/list-kinds.ts';
import { listPage } from '../route/list-page.ts';
import { renderEntries } from '../route/render-entries.ts';
import { sessionAsker, sessionCatalogue, type SessionRequest } from './session-request.ts';

/** Answers tools/list, prompts/list, resources/list and resources/templates/list: all entries on one page. */
export async function listEntries(kind: ListKind, request: SessionRequest): Promise<void> {
  const { session, identity, rooms, message, res } = request;
  const asker = sessionAsker(session, identity, rooms);
  const list = await listPage(kind, message, sessionCatalogue(session, asker, rooms), asker, rooms);
  answerJson(
    res,
    200,
    `{"jsonrpc":"2.0","id":${message.idText},"result":{${renderEntries(kind, list, asker, rooms)}}}`,
  );
}
