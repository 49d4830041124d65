export interface S3Settings {
  /** URL such as `https://s3.example.com`, without the bucket. */
  readonly endpoint: string
  readonly region: string
  readonly keyId: string
  readonly secret: string
}

export interface S3Address {
  readonly bucket: string
  /** Empty, or ends in `/`. */
  readonly prefix: string
}

const SCHEME = 's3://'
const ADDRESS = /^s3:\/\/([A-Za-z0-9][A-Za-z0-9.-]{1,61}[A-Za-z0-9])((?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*)\/?$/

export function isS3Target(target: string): boolean {
  return target.startsWith(SCHEME)
}

/** Parses `s3://bucket/prefix`; null if the text has another form. */
export function s3AddressOf(target: string): S3Address | null {
  const match = ADDRESS.exec(target)
  if (match === null) return null
  const [, bucket = '', path = ''] = match
  return { bucket, prefix: path === '' ? '' : `${path.slice(1)}/` }
}

/** Explains why the address of a store is invalid; null if it is valid. */
export function s3EndpointFault(text: string): string | null {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    return 'must be an https:// address, or http:// in a network of your own'
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    return 'must be a plain address, without user, query or fragment'
  return null
}
