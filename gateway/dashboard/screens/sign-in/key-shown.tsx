import { signInTexts } from '#dashboard/texts/sign-in.ts'

/** A key that is shown this once. */
export function KeyShown({ apiKey, onDone }: { apiKey: string; onDone: () => void }) {
  const texts = signInTexts()
  return (
    <>
      <p>{texts.ownKeyHow}</p>
      <p>
        <output class="key-shown">{apiKey}</output>
      </p>
      <button type="button" class="button main" onClick={onDone}>
        {texts.writtenDown}
      </button>
    </>
  )
}
