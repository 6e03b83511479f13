import { z } from 'zod';
import { HttpUrl } from '#crds/parts/primitives';

const Text = z.string().max(4096);
const Labels = z
  .record(z.string().max(256), Text)
  .refine((labels) => Object.keys(labels).length <= 256, 'has more than 256 labels');

/** How images are built of packages elsewhere; vmcp runs packages by their own runner. */
const RuntimeConfig = z.strictObject({
  builder_image: Text.optional().describe('Image that builds; recorded.'),
  additional_packages: z.array(Text).max(256).optional().describe('Packages that it adds; recorded.'),
});

/** Which lists of ignored files somebody wants to have read; vmcp reads none. */
const IgnoreConfig = z.strictObject({
  loadGlobal: z.boolean().optional().describe('The list of the machine is read, too; recorded.'),
  printOverlays: z.boolean().optional().describe('What is hidden is told; recorded.'),
});

/** What a workload record has that nothing follows from: it is recorded with the resource, and given back. */
export const recordedFields = {
  registry_url: z
    .union([
      z.literal(''),
      HttpUrl,
      z
        .string()
        .max(2048)
        .regex(/^file:\/\/\//),
    ])
    .optional()
    .describe('Registry file that its entry came from; recorded.'),
  registry_api_url: z
    .union([z.literal(''), HttpUrl])
    .optional()
    .describe('API of the registry that its entry came from; recorded.'),
  runtime_config: RuntimeConfig.optional().describe('How its image was built; recorded.'),
  container_name: z.string().max(256).optional().describe('What its container is called elsewhere; recorded.'),
  container_labels: Labels.optional().describe('Labels of its container elsewhere; recorded.'),
  ignore_config: IgnoreConfig.optional().describe('Lists of ignored files; recorded, and on one machine only.'),
};
