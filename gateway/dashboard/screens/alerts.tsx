import { shellTexts } from '#dashboard/texts/shell.ts'

export function AlertsScreen() {
  return (
    <div class="page">
      <h1>{shellTexts().alerts}</h1>
    </div>
  )
}
