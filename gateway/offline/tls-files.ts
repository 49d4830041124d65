import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { Config } from '#gateway/config.ts'
import { hostNamesNow } from '#gateway/tls.ts'
import { type Authority, createAuthority, isPermitted, issueLeaf, readAuthority } from '#shared/authority/authority.ts'
import { AuthorityFolder } from '#shared/authority/authority-folder.ts'
import { allNames, isHostName, isPrivateAddress, isTooWide } from '#shared/authority/host-names.ts'
import { describeError } from '#shared/errors.ts'
import { databasePath } from '#store/db/files.ts'

/** Earliest time that a correct clock can show. */
const EARLIEST_MS = Date.UTC(2026, 0, 1)

/** Authority of a gateway and its current certificate, for output. */
export interface TlsFiles {
  authority: Pick<Authority, 'commonName' | 'names' | 'expiresAtMs' | 'isForServersOnly'> & {
    fingerprint: string
    path: string
  }
  /** Null without a readable certificate. */
  leaf: { hosts: string[]; expiresAtMs: number } | null
  /** Names of the machine that the authority may not sign for. */
  missing: string[]
}

export interface NewAuthority {
  /** Names in addition to those that the machine already has. */
  names: readonly string[]
  /** Replaces an existing authority; every tablet must then trust the new one. */
  isReplacing: boolean
  nowMs: number
}

/** Creates an authority for this machine and its first certificate. Throws an `Error` with a readable message. */
export function initTls(config: Config, { names, isReplacing, nowMs }: NewAuthority): TlsFiles {
  const folder = folderOf(config)
  if (nowMs < EARLIEST_MS)
    throw new Error(`the clock of this machine shows ${new Date(nowMs).getUTCFullYear()}: set it, then try again`)
  const wrong = names.find((name) => !isHostName(name) && !isPrivateAddress(name))
  if (wrong !== undefined) throw new Error(`${wrong} is neither the name of a host nor a private address: leave it out`)
  const own = hostNamesNow(config)
  const wide = names.find(
    (name) =>
      !isPrivateAddress(name) && (isTooWide(name) || (!name.includes('.') && !own.names.includes(name.toLowerCase()))),
  )
  if (wide !== undefined)
    throw new Error(
      `${wide} is not a name of this machine alone: an authority may sign for all names below it; give a whole ` +
        `one, as golf.${wide.toLowerCase()}`,
    )
  if (existsSync(folder.authorityPath) && !isReplacing)
    throw new Error(
      'there is an authority already, and tablets may trust it: see "cartbarn tls status", or add --replace, ' +
        'after which each tablet must trust the new one',
    )
  const pem = createAuthority(hostNamesNow(config, names).names, nowMs)
  folder.writeAuthority(pem)
  return renew(config, folder, readAuthority(pem), nowMs)
}

/** Issues another certificate of the authority, even if none is due. Throws an `Error` with a readable message. */
export function renewTls(config: Config, nowMs: number): TlsFiles {
  const folder = folderOf(config)
  const authority = authorityIn(folder)
  if (nowMs < authority.madeAtMs || nowMs >= authority.expiresAtMs)
    throw new Error(
      'by the clock of the gateway computer its authority is not valid: set the clock, or see "cartbarn tls status"',
    )
  return renew(config, folder, authority, nowMs)
}

/** Reads the current authority and certificate. Throws an `Error` with a readable message. */
export function readTlsFiles(config: Config): TlsFiles {
  const folder = folderOf(config)
  return describe(config, folder, authorityIn(folder))
}

function renew(config: Config, folder: AuthorityFolder, authority: Authority, nowMs: number): TlsFiles {
  folder.writeLeaf(issueLeaf(authority, allNames(authority, hostNamesNow(config)), nowMs))
  return describe(config, folder, authority)
}

function folderOf({ dataDir }: Config): AuthorityFolder {
  // most likely not the intended folder
  if (!existsSync(databasePath(dataDir)))
    throw new Error(`${dataDir} has no database of a gateway: start the gateway once, or set CARTBARN_DATA_DIR`)
  return new AuthorityFolder(dataDir)
}

function authorityIn(folder: AuthorityFolder): Authority {
  if (!existsSync(folder.authorityPath)) throw new Error('there is no authority yet: "cartbarn tls init" makes one')
  try {
    return readAuthority(folder.readAuthority())
  } catch (error) {
    throw new Error(
      `${folder.authorityPath} cannot be used: ${describeError(error)}: put its last backup back, or make ` +
        'another with "cartbarn tls init --replace", which each tablet must then trust',
      { cause: error },
    )
  }
}

function describe(config: Config, folder: AuthorityFolder, authority: Authority): TlsFiles {
  const { commonName, names, expiresAtMs, isForServersOnly, certificate } = authority
  const { fingerprint256 } = new X509Certificate(certificate)
  return {
    authority: {
      commonName,
      names,
      expiresAtMs,
      isForServersOnly,
      fingerprint: fingerprint256,
      path: folder.authorityPath,
    },
    leaf: leafOf(folder.readLeaf()),
    missing: hostNamesNow(config).names.filter((name) => !isPermitted(authority, name)),
  }
}

function leafOf(pem: string | undefined): TlsFiles['leaf'] {
  try {
    const { subjectAltName = '', validToDate } = new X509Certificate(pem ?? '')
    const hosts = subjectAltName.split(', ').map((text) => text.replace(/^(DNS|IP Address):/, ''))
    return { hosts, expiresAtMs: validToDate.getTime() }
  } catch {
    return null
  }
}
