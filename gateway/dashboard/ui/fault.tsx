/** Error message of an action; empty without one. */
export function Fault({ text }: { text: string | null }) {
  return text === null ? null : (
    <p class="error" role="alert" dir="auto">
      {text}
    </p>
  )
}
