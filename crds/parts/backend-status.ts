import { z } from 'zod';

export const BackendStatus = z.object({
  name: z.string().max(253).describe('Name of the MCPServer.'),
  url: z.string().max(2048).optional().describe('Where it is reached.'),
  phase: z.string().max(64).describe('State of the backend.'),
  tools: z.int().min(0).optional().describe('How many tools it has; absent until somebody listed them.'),
  authType: z.string().max(64).optional().describe('How it is authenticated at.'),
  message: z.string().max(4096).optional().describe('What is wrong, and what to do.'),
  loginUrl: z.string().max(2048).optional().describe('Where a person who runs this has to log in for it.'),
  lastTransitionTime: z.string().max(64).optional().describe('When phase changed last, RFC 3339.'),
});
