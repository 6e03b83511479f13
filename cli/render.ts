import { placeholder } from '#operator/kubernetes/gitops/render-objects';
import type { Outcome } from '#operator/plan/outcome';
import { checkFolder, printProblem } from './check-folder.ts';
import type { Context } from './context.ts';
import { EXIT_CODES } from './exit-codes.ts';
import { printObject } from './print-object.ts';

function renderOne({ key, rendered, children }: Outcome): Record<string, unknown>[] {
  if (!rendered && children.length === 0) return [];
  const { kind, namespace, name } = key;
  const files =
    rendered &&
    Object.fromEntries(
      Object.entries(rendered.secretFiles).map(([file, source]) => [
        `${rendered.secretDirectory}/${file}`,
        placeholder(source),
      ]),
    );
  return [
    {
      resource: { kind, namespace, name },
      ...(rendered ? { run_config: rendered.document, secret_files: files } : {}),
      processes: children,
    },
  ];
}

export async function render(folder: string, format: 'json' | 'yaml', context: Context): Promise<number> {
  const { outcomes, problems } = await checkFolder(folder, context);
  for (const problem of problems) context.err.write(`${printProblem(problem)}\n`);
  const documents = outcomes.flatMap(renderOne);
  if (format === 'json') context.out.write(printObject(documents, 'json'));
  else context.out.write(documents.map((document) => printObject(document, 'yaml')).join('---\n'));
  return problems.length > 0 ? EXIT_CODES.input : EXIT_CODES.ok;
}
