import { answerJson } from './answer-json.ts';
import { answerRoute, type Route, type RouteHandler } from './listener.ts';

export interface OpeningGate {
  readonly route: (path: string) => RouteHandler;
  /** Passes all held requests to the route. Call it once; later requests go to the route directly. */
  open(route: Route): void;
}

/** Limit of held requests. The gate tells further clients to retry. */
const MAX_WAITING = 1_000;
const TRY_AGAIN = '{"error":"starting","error_description":"Not everything is open yet; try again in a second"}';

/** Holds requests, because an error would look like another server's answer. Forgets clients that disconnect, and reads no bodies. */
export function createOpeningGate(most = MAX_WAITING): OpeningGate {
  const waiting = new Set<(route: Route | undefined) => void>();
  return {
    route: (path) => async (req, res) => {
      if (waiting.size >= most) {
        answerJson(res, 503, TRY_AGAIN, { 'Retry-After': '1' });
        return;
      }
      const { promise, resolve: enter } = Promise.withResolvers<Route | undefined>();
      const leave = () => {
        waiting.delete(enter);
        enter(undefined);
      };
      waiting.add(enter);
      res.once('close', leave);
      const route = await promise;
      res.off('close', leave);
      if (route) await answerRoute(route(path), req, res);
    },
    open(route) {
      for (const enter of waiting) enter(route);
      waiting.clear();
    },
  };
}
