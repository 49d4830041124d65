import { isExecutable } from './program-files.ts'

/** Commands with another name in npm. */
const SCRIPTS: Record<string, string> = { 'sync-export': 'sync:export', 'sync-import': 'sync:import' }

/** Returns the shell text of a command for the user: a computer with the package has neither npm nor the sources. */
export function typedCommand(command: string, isPackaged = isExecutable): string {
  if (isPackaged) return `cartbarn ${command}`
  const [name = '', ...words] = command.split(' ')
  const script = name === 'run' ? 'npm start' : `npm run ${SCRIPTS[name] ?? name}`
  return [script, ...(words.length === 0 ? [] : ['--', ...words])].join(' ')
}
