import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

/** Private key that signs releases, and the public one in the form that programs contain: SPKI in base64. */
export interface SigningKey {
  path: string
  privateKey: KeyObject
  publicKey: string
  /** True if it was created now. */
  isNew: boolean
}

/**
 * Reads the key of CARTBARN_RELEASE_KEY_FILE (PEM); without that setting one in the home folder, created if missing.
 */
export function signingKey(environment: Record<string, string | undefined>, home: string = homedir()): SigningKey {
  const { CARTBARN_RELEASE_KEY_FILE: named = '' } = environment
  const path = named === '' ? join(home, '.config/cartbarn/release-key.pem') : named
  const isNew = named === '' && !existsSync(path)
  if (isNew) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const { privateKey } = generateKeyPairSync('ed25519')
    writeFileSync(path, privateKey.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600, flag: 'wx' })
  }
  const privateKey = createPrivateKey(readFileSync(path))
  if (privateKey.asymmetricKeyType !== 'ed25519') throw new Error(`${path} is not a key of ed25519`)
  const publicKey = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).toString('base64')
  return { path, privateKey, publicKey, isNew }
}
