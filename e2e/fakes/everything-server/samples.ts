/** A PNG of one red pixel, in Base64. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

/** A WAV header without samples, in Base64. */
export const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';

/** A schema with the additions of JSON Schema 2020-12; a gateway passes every keyword on. */
export const SCHEMA_2020_12 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object' as const,
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

const region = { type: 'string' as const, 'x-mcp-header': 'Region' };

/** One argument travels in the header `Mcp-Param-Region` as well. */
export const SCHEMA_WITH_HEADER = {
  type: 'object' as const,
  properties: { region, query: { type: 'string' as const } },
  required: ['region'],
};

/** Form fields of every primitive type, each with a default. */
export const FORM_WITH_DEFAULTS = {
  type: 'object' as const,
  properties: {
    name: { type: 'string' as const, description: 'User name', default: 'John Doe' },
    age: { type: 'integer' as const, description: 'User age', default: 30 },
    score: { type: 'number' as const, description: 'User score', default: 95.5 },
    status: {
      type: 'string' as const,
      description: 'User status',
      enum: ['active', 'inactive', 'pending'],
      default: 'active',
    },
    verified: { type: 'boolean' as const, description: 'Verification status', default: true },
  },
  required: [],
};

const titles = (values: string[], noun: string) =>
  values.map((value, index) => ({ const: value, title: `${['First', 'Second', 'Third'][index] ?? ''} ${noun}` }));

/** Form fields with each of the five ways to write an enumeration. */
export const FORM_WITH_ENUMS = {
  type: 'object' as const,
  properties: {
    untitledSingle: {
      type: 'string' as const,
      description: 'Select one option',
      enum: ['option1', 'option2', 'option3'],
    },
    titledSingle: {
      type: 'string' as const,
      description: 'Select one option with titles',
      oneOf: titles(['value1', 'value2', 'value3'], 'Option'),
    },
    legacyEnum: {
      type: 'string' as const,
      description: 'Select one option (older form)',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: {
      type: 'array' as const,
      description: 'Select several options',
      minItems: 1,
      maxItems: 3,
      items: { type: 'string' as const, enum: ['option1', 'option2', 'option3'] },
    },
    titledMulti: {
      type: 'array' as const,
      description: 'Select several options with titles',
      minItems: 1,
      maxItems: 3,
      items: { anyOf: titles(['value1', 'value2', 'value3'], 'Choice') },
    },
  },
  required: [],
};
