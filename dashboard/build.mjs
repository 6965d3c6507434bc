// Builds the dashboard into a directory: node build.mjs [DIRECTORY]. The same sources and packages give the same bytes, so
// that `make lint` can compare the committed files with a build.
import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const target = process.argv[2] ?? here("../crates/dashboard/assets");

const built = await build({
  absWorkingDir: here("."),
  entryPoints: { app: "src/main.tsx", style: "src/style.css" },
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022", "chrome123", "firefox120", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  write: false,
  outdir: "out",
});

const files = new Map();
const urls = {};

/** Adds a file whose name contains a hash of its content, and returns its address. */
function add(name, content) {
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 12);
  const [stem, extension] = name.split(".");
  const hashed = `${stem}-${hash}.${extension}`;
  files.set(hashed, content);
  return `/assets/${hashed}`;
}

for (const file of built.outputFiles) {
  urls[basename(file.path)] = add(basename(file.path), file.contents);
}
urls["icon.svg"] = add("icon.svg", await readFile(here("src/icon.svg")));

// The licences of the packages require that their text goes with the program.
const { dependencies } = JSON.parse(await readFile(here("package.json"), "utf8"));
const notices = await Promise.all(
  Object.entries(dependencies).map(async ([name, version]) => {
    const text = await readFile(here(`node_modules/${name}/LICENSE`), "utf8");
    return `${name} ${version}\n\n${text.trim()}\n`;
  }),
);
urls["licences.txt"] = add("licences.txt", notices.join(`\n${"-".repeat(72)}\n\n`));

const template = await readFile(here("src/index.html"), "utf8");
const page = template.replaceAll(/\{\{(.+?)\}\}/g, (_, name) => {
  if (!(name in urls)) throw new Error(`src/index.html names ${name}, which the build does not make`);
  return urls[name];
});
files.set("index.html", page);

await mkdir(target, { recursive: true });
for (const old of await readdir(target)) await rm(join(target, old));
for (const [name, content] of files) await writeFile(join(target, name), content);
