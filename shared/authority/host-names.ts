import { BlockList, isIP } from 'node:net'

/** Networks that are not routed outside a site, with their prefix lengths. Sources: RFC 1918, 3927, 4193, 4291. */
export const PRIVATE_NETWORKS = [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['169.254.0.0', 16],
  ['127.0.0.0', 8],
  ['fc00::', 7],
  ['fe80::', 10],
  ['::1', 128],
] as const

const privateAddresses = new BlockList()
for (const [network, bits] of PRIVATE_NETWORKS)
  privateAddresses.addSubnet(network, bits, isIP(network) === 4 ? 'ipv4' : 'ipv6')

/** Limit for hosts with many networks, such as those of containers: more addresses only enlarge the certificate. */
const ADDRESSES_MAX = 50

/** Names of one host in lower case, in the order in which they are shown. */
export interface HostNames {
  names: string[]
  /** Private addresses only. */
  addresses: string[]
}

export interface InterfaceAddress {
  address: string
  family: string
}

export interface MachineFacts {
  hostName: string
  interfaces: Readonly<Record<string, readonly InterfaceAddress[] | undefined>>
  /** Value of CARTBARN_PUBLIC_URL. */
  publicUrl: string | undefined
  /** Additional names from the settings. */
  names?: readonly string[]
}

/** Returns the names and private addresses under which the host is reached. */
export function hostNamesOf({ hostName, interfaces, publicUrl, names = [] }: MachineFacts): HostNames {
  const publicHost = publicUrl === undefined ? '' : new URL(publicUrl).hostname
  const own = hostName.toLowerCase()
  const local = own.endsWith('.local') || own === 'localhost' ? own : `${own.split('.', 1)[0]}.local`
  const hosts = [own, local, publicHost, ...names.map((name) => name.toLowerCase()), 'localhost']
  const addresses = Object.values(interfaces)
    .flatMap((each) => each ?? [])
    .map(({ address }) => address)
    // browsers reject link-local IPv6 addresses, which are only unique within one link
    .filter((address) => isPrivateAddress(address) && !/^fe[89ab]/i.test(address))
  return {
    names: unique(hosts.filter((name) => isHostName(name) && !isTooWide(name))),
    addresses: unique(['127.0.0.1', ...hosts.filter(isPrivateAddress), ...addresses]).slice(0, ADDRESSES_MAX),
  }
}

/** Returns all names for a certificate: those of its authority and the current ones of the host. */
export function allNames(authority: { names: readonly string[] }, { names, addresses }: HostNames): HostNames {
  return { names: unique([...authority.names, ...names]), addresses }
}

/** True if the text is a valid host name for a certificate: letters, digits and hyphens between dots. */
export function isHostName(text: string): boolean {
  const isName = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i
  return isName.test(text) && isIP(text) === 0
}

/** Domains under which anyone can register a name, and those that home networks use. */
const SHARED =
  'com net org edu gov mil int info biz name pro arpa xyz app dev page web site online shop store cloud club ' +
  'golf sport sports ' +
  'local lan home localdomain internal intranet corp private test example invalid onion'
const SHARED_BELOW_COUNTRY =
  'ac co com edu gob gouv gov go gv id info lg ltd me mil muni ne net nhs nom or org plc police sch school asn ' +
  'firm gen k12'
const PROVIDERS =
  'home.arpa duckdns.org no-ip.org no-ip.com ddns.net dyndns.org dynu.net freeddns.org hopto.org zapto.org sytes.net ' +
  'myfritz.net selfhost.eu spdns.de synology.me myqnapcloud.com ts.net github.io gitlab.io netlify.app ' +
  'vercel.app pages.dev ' +
  'workers.dev web.app firebaseapp.com herokuapp.com onrender.com fly.dev ngrok.io ngrok.app ngrok-free.app ' +
  'trycloudflare.com azurewebsites.net cloudapp.net cloudfront.net amazonaws.com blogspot.com appspot.com run.app ' +
  'eu.org uk.com us.com de.com'
const sharedNames = new Set(`${SHARED} ${PROVIDERS}`.split(' '))
const sharedBelowCountry = new Set(SHARED_BELOW_COUNTRY.split(' '))

/**
 * True for domains with subdomains of other organisations, for which an authority for the domain could sign. The short
 * list covers every country code and the usual second-level domains. Source: https://publicsuffix.org.
 */
export function isTooWide(name: string): boolean {
  const labels = name.toLowerCase().split('.')
  const [first = '', second = ''] = labels
  if (labels.length === 1 && isCountry(first)) return true
  if (labels.length === 2 && isCountry(second) && sharedBelowCountry.has(first)) return true
  return sharedNames.has(labels.join('.'))
}

function isCountry(label: string): boolean {
  const known = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
  return /^[a-z]{2}$/.test(label) && known.of(label.toUpperCase()) !== undefined
}

/** True if the address is not routed outside a site. */
export function isPrivateAddress(address: string): boolean {
  const family = isIP(address)
  return family !== 0 && privateAddresses.check(address, family === 4 ? 'ipv4' : 'ipv6')
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)]
}
