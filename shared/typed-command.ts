import { isExecutable } from './program-files.ts'

/** npm has other names for these. */
const SCRIPTS: Record<string, string> = { 'sync-export': 'sync:export', 'sync-import': 'sync:import' }

/**
 * What a person types to call a command, with its words: a machine with the package has neither npm nor the sources.
 */
export function typedCommand(command: string, isPackaged = isExecutable): string {
  if (isPackaged) return `cartbarn ${command}`
  const [name = '', ...words] = command.split(' ')
  const script = name === 'run' ? 'npm start' : `npm run ${SCRIPTS[name] ?? name}`
  return [script, ...(words.length === 0 ? [] : ['--', ...words])].join(' ')
}
