import { shellTexts } from '#dashboard/texts/shell.ts'

export function EveningScreen() {
  return (
    <div class="page">
      <h1>{shellTexts().evening}</h1>
    </div>
  )
}
