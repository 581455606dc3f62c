// SPDX-License-Identifier: Apache-2.0
//
// schemas.js FOLDER SOURCE OCP-LINES TWINS: ajv takes every record by the schema that assay publishes for its type,
// every event by that of CloudEvents, and every line of our OCP streams by that of the Open Compute Project, whose
// texts stand beside this file as they were published; and of each a tampered twin is refused.
'use strict';

const { execFileSync } = require('node:child_process');
const { readdirSync, readFileSync } = require('node:fs');
const Ajv = require('ajv');
const Ajv2020 = require('ajv/dist/2020');

const [folder, source, ocpLines, twinsPath] = process.argv.slice(2);
const parse = (path) => JSON.parse(readFileSync(path, 'utf8'));
const lines = (text) => text.trimEnd().split('\n').map((line) => JSON.parse(line));
const settings = {
        strict: false,
        formats: {
                'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i,
                'uri': /^[a-z][a-z0-9+.-]*:\S+$/i,
                'uri-reference': /^[^\s\\<>"{}|^`]+$/,
                'idn-email': true,
        },
};

function fail(what) {
        console.error(`FAILED: ${what}`);
        process.exit(1);
}

let accepted = 0;
let refused = 0;

function takes(validate, value, what) {
        if (!validate(value))
                fail(`${what}: ${JSON.stringify(validate.errors[0])}`);
        accepted++;
}

function refuses(validate, value, change, what) {
        const twin = JSON.parse(JSON.stringify(value));

        change(twin);
        if (validate(twin))
                fail(`${what}: a twin was taken`);
        refused++;
}

const set = (path, to) => (value) => {
        const parts = path.split('.');
        const last = parts.pop();
        const place = parts.reduce((at, part) => at[part], value);

        if (to !== undefined)
                place[last] = to;
        else if (Array.isArray(place))
                place.splice(Number(last), 1);
        else
                delete place[last];
};

// Our own.
const schemas = new Map(readdirSync(`${source}/daemon/record/statement`).filter((name) => name.endsWith('.schema.json')).map((name) => {
        const schema = parse(`${source}/daemon/record/statement/${name}`);

        return [schema.properties.predicateType.const, new Ajv2020(settings).compile(schema)];
}));
const statements = lines(readFileSync(`${folder}/records.intoto.jsonl`, 'utf8')).map((line) => JSON.parse(Buffer.from(line.payload, 'base64')));
for (const statement of statements.filter((one) => schemas.has(one.predicateType))) {
        const validate = schemas.get(statement.predicateType);

        takes(validate, statement, `record ${statement.predicate.log.index}`);
        for (const path of ['_type', 'subject', 'subject.0.digest', 'predicateType', 'predicate.log.origin', 'predicate.producer'])
                refuses(validate, statement, set(path), `without ${path}`);
        refuses(validate, statement, set('predicateType', 'urn:assay:attestation:other:v1'), 'another type');
        refuses(validate, statement, set('subject.0.digest.sha256', 'ABCD'), 'no digest');
        refuses(validate, statement, set('predicate.log.index', -1), 'a negative index');
}
const passed = parse(`${source}/tests/record/v1/passed.json`); // as earlier assayds signed it

takes(schemas.get(passed.predicateType), passed, 'a record of version 1');
for (const twin of parse(twinsPath))
        refuses(schemas.get(passed.predicateType), passed, (value) => {
                for (const path of twin.remove ?? [])
                        set(path)(value);
                for (const [path, to] of Object.entries(twin.set ?? {}))
                        set(path, to)(value);
        }, twin.why);

// CloudEvents 1.0.
const event = new Ajv(settings).compile(parse(`${__dirname}/cloudevents-1.0.json`));
for (const one of lines(readFileSync(`${folder}/events.jsonl`, 'utf8'))) {
        takes(event, one, `event ${one.id}`);
        if (!/^org\.assay\.attestation\.[a-z-]+\.v[12]$/.test(one.type) || JSON.parse(Buffer.from(one.data.payload, 'base64')).predicate.log.index !== Number(one.sequence))
                fail(`event ${one.id} is of another record`);
        for (const path of ['id', 'source', 'specversion', 'type'])
                refuses(event, one, set(path), `an event without ${path}`);
        refuses(event, one, set('time', 'yesterday'), 'an event of no time');
}

// OCP Test & Validation 2.0.
const ocp = new Ajv2020(settings);
for (const name of readdirSync(`${__dirname}/ocp-2.0`).filter((one) => one.endsWith('.json') && one !== 'root.json'))
        ocp.addSchema(parse(`${__dirname}/ocp-2.0/${name}`));
const line = ocp.compile(parse(`${__dirname}/ocp-2.0/root.json`));
for (const one of lines(execFileSync(ocpLines, { encoding: 'utf8' }))) {
        takes(line, one, `line ${one.sequenceNumber}`);
        for (const path of ['sequenceNumber', 'timestamp'])
                refuses(line, one, set(path), `a line without ${path}`);
        refuses(line, one, set('unheardOf', 1), 'an unknown member');
        refuses(line, one, set('timestamp', 'today'), 'a line of no time');
}

console.log(`${accepted} records, events and lines taken, ${refused} twins refused, ajv ${require('ajv/package.json').version} on Node ${process.version}`);
