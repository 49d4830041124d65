/** Code that signs this browser in once; `setup` is that of a gateway's first start. */
export interface SignInCode {
  kind: 'pair' | 'setup'
  code: string
}

const CODE = /^#(pair|setup)=([^&]{1,64})$/
const TYPED = /^[0-9A-Z]{12}$/i

/** Reads the code of an address such as `#pair=7K3M9QXA2BFT`; null for any other. */
export function readCode(hash: string): SignInCode | null {
  const [, kind, code = ''] = CODE.exec(hash) ?? []
  if (kind !== 'pair' && kind !== 'setup') return null
  try {
    return { kind, code: decodeURIComponent(code) }
  } catch {
    return { kind, code }
  }
}

/** Minimum length of a key that an operator chooses. */
const KEY_LEAST = 24

/** True of text that is shorter than a key and may be a code, finished or not. */
export function isCodeSoFar(text: string): boolean {
  return text.length < KEY_LEAST && !text.includes('_')
}

/** True if the typed text is a code in its displayed form, and not a key. */
export function isTypedCode(text: string): boolean {
  return TYPED.test(text.replaceAll(/[\s-]/g, ''))
}
