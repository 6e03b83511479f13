import { z } from 'zod';
import { HttpUrl } from '#crds/parts/primitives';

const Text = z.string().max(4096);
const Labels = z
  .record(z.string().max(256), Text)
  .refine((labels) => Object.keys(labels).length <= 256, 'has more than 256 labels');

/** Build settings of images elsewhere; vmcp builds no images and runs packages by npx or uvx. */
const RuntimeConfig = z.strictObject({
  builder_image: Text.optional().describe('Image that builds; recorded.'),
  additional_packages: z.array(Text).max(256).optional().describe('Packages that it adds; recorded.'),
});

/** Lists of ignored files; vmcp reads none of them. */
const IgnoreConfig = z.strictObject({
  loadGlobal: z.boolean().optional().describe('The list of the machine is read, too; recorded.'),
  printOverlays: z.boolean().optional().describe('What is hidden is told; recorded.'),
});

/** Stored with the resource without any effect. */
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
