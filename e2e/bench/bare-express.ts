import type { AddressInfo } from 'node:net';
import express from 'express';

// Minimum of an OAuth token endpoint on express: it reads a form and answers JSON.
const app = express();
app.disable('x-powered-by');
app.post('/oauth/token', express.urlencoded({ extended: false }), (request, response) => {
  const { grant_type: grant } = request.body as Record<string, string>;
  response.json({ access_token: grant, token_type: 'Bearer', expires_in: 3_600 });
});
const server = app.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: (server.address() as AddressInfo).port }));
});
process.once('SIGTERM', () => process.exit(0));
