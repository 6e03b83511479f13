export type OpenApiDocument = Record<string, unknown> & { openapi: '3.1.1' };
