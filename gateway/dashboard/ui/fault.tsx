/** Why something was not done; nothing when all is well. */
export function Fault({ text }: { text: string | null }) {
  return text === null ? null : (
    <p class="error" role="alert" dir="auto">
      {text}
    </p>
  )
}
