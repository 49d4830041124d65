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

/** The gateway as a service of systemd. */
export interface Service {
  activeState: string
  result: string
  restarts: number
  /** Settings that the unit itself has. */
  environment: Record<string, string>
  /** The file of `--config` that the unit starts it with. */
  configFile: string | undefined
  sandbox: Sandbox
}

/** What the unit lets the gateway write. */
export interface Sandbox {
  /** All but `writable` is read-only. */
  isStrict: boolean
  /** /home, /root and /run/user are not there. */
  isHomeHidden: boolean
  writable: readonly string[]
}

/** Asks systemd for the service; undefined where there is none. */
export async function findService(machine: Machine): Promise<Service | undefined> {
  const argv = ['show', UNIT, ...PROPERTIES.map((name) => `--property=${name}`)]
  const output = await machine.ask('systemctl', argv)
  return output === null ? undefined : readService(output)
}

/** Reads what `systemctl show` prints; undefined for a unit that is not there. */
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
      // `-` before one that may be missing, `+` before one below another root
      writable: (properties.get('ReadWritePaths') ?? '').split(' ').map((path) => path.replace(/^[-+]+/, '')),
    },
  }
}

/** `A=b "C=d e"`, as systemd prints it. */
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
