/** What signs this browser in once: `setup` is that of a gateway's first start. */
export interface SignInCode {
  kind: 'pair' | 'setup'
  code: string
}

const CODE = /^#(pair|setup)=([^&]{1,64})$/
const TYPED = /^[0-9A-Z]{12}$/i

/** `#pair=7K3M9QXA2BFT` in an address; null for any other. */
export function readCode(hash: string): SignInCode | null {
  const [, kind, code = ''] = CODE.exec(hash) ?? []
  if (kind !== 'pair' && kind !== 'setup') return null
  try {
    return { kind, code: decodeURIComponent(code) }
  } catch {
    return { kind, code }
  }
}

/** A key that an operator chooses has so many characters at least. */
const KEY_LEAST = 24

/** True of a code that lacks characters, or has too many. */
export function isUnfinishedCode(text: string): boolean {
  return text.length < KEY_LEAST && !text.includes('_') && !isTypedCode(text)
}

/** Whether what somebody typed is a code, as it is shown to people, and no key. */
export function isTypedCode(text: string): boolean {
  return TYPED.test(text.replaceAll(/[\s-]/g, ''))
}
