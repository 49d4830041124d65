import { describeSettings } from '#gateway/config.ts'

/** Names of processors, as Debian has them. */
export type DebianArchitecture = 'amd64' | 'arm64'

/** The only setting of the package that is not the default: everything else is a comment. */
const DATA_DIR = '/var/lib/cartbarn'

export interface PackageFacts {
  version: string
  architecture: DebianArchitecture
  /** Of all files. */
  sizeKb: number
}

/** What dpkg is told of the package. Node is built against glibc 2.28; the rest are libraries that a bare Debian has. */
export function controlFile({ version, architecture, sizeKb }: PackageFacts): string {
  return `Package: cartbarn
Version: ${version}
Architecture: ${architecture}
Maintainer: The cartbarn project <cartbarn@localhost>
Installed-Size: ${sizeKb}
Depends: libc6 (>= 2.28), libgcc-s1, libstdc++6, passwd
Recommends: systemd
Section: net
Priority: optional
Description: fleet gateway of a golf course
 One process in the cart barn receives what locks, trackers and screens of
 golf carts report over MQTT, stores it, and serves it over HTTP and WebSocket
 on the local network, with an app for tablets. It works without internet.
`
}

/** The file of settings: each with what it does and its default, in a comment. */
export function settingsTemplate(): string {
  const lines = describeSettings().map(({ name, defaultValue, help }) =>
    name === 'CARTBARN_DATA_DIR'
      ? `# ${help}\n${name}=${DATA_DIR}\n`
      : `# ${help}\n#${name}=${defaultValue}\n`,
  )
  return [
    '# Settings of the gateway, as NAME=value. After a change: systemctl restart cartbarn',
    '# A wrong line keeps the gateway from starting; journalctl -u cartbarn names it.',
    '',
    ...lines,
  ].join('\n')
}

/** Debian wants to know what may be done with the files. `licences` are those of everything inside the program. */
export function copyrightFile(licences: string): string {
  return `cartbarn is under the MIT licence. The program contains others' work, each under its own licence:\n\n${licences}`
}
