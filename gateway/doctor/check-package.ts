import { type Finding, failure, ok } from './finding.ts'
import type { Machine } from './machine.ts'

const ABOUT = 'package'
/** Wanted state, error flag, current state and version of a package. Source: dpkg-query(1). */
const FORMAT = `\${db:Status-Want} \${db:Status-Eflag} \${db:Status-Status} \${Version}`
const INSTALLED = ['installed', 'triggers-awaited', 'triggers-pending']
const ABSENT = ['not-installed', 'config-files']
/** Configures the package; `--force-confold` keeps the settings files that an admin has edited. */
const CONFIGURE = 'sudo dpkg --force-confold --configure -a'

/** Checks that the package is installed completely. Returns no finding without dpkg or without the package. */
export async function checkPackage(machine: Machine): Promise<Finding[]> {
  const shown = await machine.ask('dpkg-query', ['--show', `--showformat=${FORMAT}`, 'cartbarn'])
  const [, error, state, version] = /^\S+ (\S+) (\S+) (\S*)$/.exec(shown?.trim() ?? '') ?? []
  if (state === undefined || ABSENT.includes(state)) return []
  if (error !== 'ok' || state === 'half-installed')
    return [
      failure(
        ABOUT,
        `cartbarn ${version} is only partly installed (${state})`,
        'install its file again: sudo dpkg --force-confold --install ./cartbarn_VERSION_ARCHITECTURE.deb',
      ),
    ]
  if (INSTALLED.includes(state)) return [ok(ABOUT, `cartbarn ${version} is installed`)]
  return [
    failure(
      ABOUT,
      `cartbarn ${version} is ${state}: its installation did not end, and the next start takes the new program`,
      CONFIGURE,
    ),
  ]
}
