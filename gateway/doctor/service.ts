import type { Machine } from './machine.ts'

const UNIT = 'cartbarn.service'
const PROPERTIES = [
  'ActiveState',
  'LoadState',
  'NRestarts',
  'Environment',
  'ExecStart',
  'Result',
  'ProtectSystem',
  'ProtectHome',
  'ReadWritePaths',
]

export interface Service {
  activeState: string
  result: string
  restarts: number
  /** Settings in the unit itself. */
  environment: Record<string, string>
  /** Path that the unit passes as `--config`. */
  configFile: string | undefined
  sandbox: Sandbox
}

/** Paths that the unit lets the gateway write. */
export interface Sandbox {
  /** True if everything except `writable` is read-only. */
  isStrict: boolean
  /** True if /home, /root and /run/user are hidden. */
  isHomeHidden: boolean
  writable: readonly string[]
}

/** Queries systemd for the service; undefined if it has none. */
export async function findService(machine: Machine): Promise<Service | undefined> {
  const argv = ['show', UNIT, ...PROPERTIES.map((name) => `--property=${name}`)]
  const output = await machine.ask('systemctl', argv)
  return output === null ? undefined : readService(output)
}

/** Parses the output of `systemctl show`; undefined for a unit that is not loaded. */
export function readService(output: string): Service | undefined {
  const properties = new Map(
    output.split('\n').map((line) => {
      const [name = '', ...value] = line.split('=')
      return [name, value.join('=')]
    }),
  )
  if (properties.get('LoadState') !== 'loaded') return undefined
  const [, configFile] = / --config[= ](\S+)/.exec(properties.get('ExecStart') ?? '') ?? []
  return {
    activeState: properties.get('ActiveState') ?? '',
    result: properties.get('Result') ?? '',
    restarts: Number(properties.get('NRestarts')) || 0,
    environment: readEnvironment(properties.get('Environment') ?? ''),
    configFile,
    sandbox: {
      isStrict: properties.get('ProtectSystem') === 'strict',
      isHomeHidden: !['', 'no', 'read-only'].includes(properties.get('ProtectHome') ?? ''),
      // `-` precedes a path that may be missing, `+` a path relative to another root
      writable: (properties.get('ReadWritePaths') ?? '').split(' ').map((path) => path.replace(/^[-+]+/, '')),
    },
  }
}

/** Parses `A=b "C=d e"`, the format in which systemd prints an environment. */
function readEnvironment(text: string): Record<string, string> {
  const words = [...text.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)]
  return Object.fromEntries(
    words.map(([, quoted, bare]) => {
      const word = quoted?.replaceAll(/\\(.)/g, '$1') ?? bare ?? ''
      const [name = '', ...value] = word.split('=')
      return [name, value.join('=')]
    }),
  )
}
