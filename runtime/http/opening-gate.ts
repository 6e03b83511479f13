import { answerJson } from './answer-json.ts';
import { answerRoute, type Route, type RouteHandler } from './listener.ts';

/** Where requests wait until there is something to serve them. */
export interface OpeningGate {
  readonly route: (path: string) => RouteHandler;
  /** Lets all in that wait. To be called once; whoever comes later is for the route itself. */
  open(route: Route): void;
}

/** Requests that wait at most: one more is told to come again. */
const MAX_WAITING = 1_000;
const TRY_AGAIN = '{"error":"starting","error_description":"Not everything is open yet; try again in a second"}';

/**
 * Whoever comes before everything is open waits: a port that answers otherwise would seem to be another server's. Who leaves meanwhile
 * is forgotten, and nothing of a body is read.
 */
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
