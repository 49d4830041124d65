import { describeSettings } from '#gateway/config.ts'

/** Names of processors in Debian. */
export type DebianArchitecture = 'amd64' | 'arm64'

/** The only setting of the package with a value: everything else is a comment. */
const DATA_DIR = '/var/lib/cartbarn'

/** The project has no mail address, and one in another domain would send its mail there. */
const MAINTAINER = 'The cartbarn authors <cartbarn@localhost>'

export interface PackageFacts {
  version: string
  architecture: DebianArchitecture
  /** Total of all files. */
  sizeKb: number
}

/**
 * Control file of the package. Node is built against glibc 2.28; the other dependencies are libraries of bare Debian.
 */
export function controlFile({ version, architecture, sizeKb }: PackageFacts): string {
  return `Package: cartbarn
Version: ${version}
Architecture: ${architecture}
Maintainer: ${MAINTAINER}
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

/** Returns the changelog in Debian's format; the changes are listed in that of the project, next to it. */
export function debianChangelog(version: string, changedAtS: number): string {
  const date = new Date(changedAtS * 1000).toUTCString().replace('GMT', '+0000')
  return (
    `cartbarn (${version}) stable; urgency=medium\n\n  * See CHANGELOG.md.gz in this folder.\n\n -- ${MAINTAINER} ` +
    ` ${date}\n`
  )
}

/** Returns the findings of lintian that are intended. */
export function lintianOverrides(): string {
  return [
    '# the project has no address of its own',
    'cartbarn: bogus-mail-host Maintainer cartbarn@localhost',
    'cartbarn: bogus-mail-host-in-debian-changelog cartbarn@localhost *',
    '# systemd is recommended, not needed: the scripts call it only where it runs',
    'cartbarn: maintainer-script-calls-systemctl *',
    '# the first installation creates the settings file in it, which is not a conffile',
    'cartbarn: package-contains-empty-directory [etc/cartbarn/]',
    '# Node brings its libraries along and is built so; to strip it would cut the program off that it carries',
    ...['embedded-library libxml2', 'embedded-library zlib', 'hardening-no-pie', 'unstripped-binary-or-object'].map(
      (tag) => `cartbarn: ${tag} *`,
    ),
    '# the licences are those of everything inside, word for word',
    ...[
      'copyright-file-contains-full-apache-2-license',
      'copyright-not-using-common-license-for-gpl',
      'old-fsf-address-in-copyright-file',
    ].map((tag) => `cartbarn: ${tag}`),
    '# cartbarn COMMAND --help is the manual, and the gateway serves its documents',
    'cartbarn: no-manual-page *',
    '',
  ].join('\n')
}

/** Returns the settings file: each setting with its description and its default, in a comment. */
export function settingsTemplate(): string {
  const lines = describeSettings().map(({ name, defaultValue, help }) =>
    name === 'CARTBARN_DATA_DIR'
      ? `# ${help}\n${name}=${DATA_DIR}\n`
      : // an empty value counts as missing
        `# ${help}\n#${name}=${defaultValue === 'none' ? '' : defaultValue}\n`,
  )
  return [
    '# Settings of the gateway, as NAME=value. After a change: systemctl restart cartbarn',
    '# A wrong line keeps the gateway from starting; journalctl -u cartbarn names it.',
    '',
    ...lines,
  ].join('\n')
}

/** Returns the copyright file that Debian requires. `licences` are those of everything inside the program. */
export function copyrightFile(licences: string): string {
  return (
    "cartbarn is under the MIT licence. The program contains others' work, each under its own " +
    `licence:\n\n${licences}`
  )
}
